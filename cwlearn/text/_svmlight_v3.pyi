from cwlearn.text._svmlight import BAD_LINE as BAD_LINE
from cwlearn.text._svmlight import DONE as DONE
from cwlearn.text._svmlight import PADDING as PADDING
from cwlearn.text._svmlight import TOO_WIDE as TOO_WIDE
from cwlearn.text._svmlight import choose_marks as choose_marks
from cwlearn.text._svmlight import parse_rows as parse_rows
from cwlearn.text._svmlight import power_of_ten as power_of_ten
